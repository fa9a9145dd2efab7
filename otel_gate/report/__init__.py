"""What people and programs read: text and JSON, made of values. Nothing here prints."""
