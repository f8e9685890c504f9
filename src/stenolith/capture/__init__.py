"""What a host hands over becomes transcript and records."""
