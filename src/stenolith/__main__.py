"""Let ``python -m stenolith`` be the command line."""

from stenolith.cli import main

main()
