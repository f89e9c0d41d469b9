"""The commands of `aioli`, one file each, with the code that they share beside them."""
