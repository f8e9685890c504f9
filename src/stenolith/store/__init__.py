"""All reading and writing of disk and database."""
