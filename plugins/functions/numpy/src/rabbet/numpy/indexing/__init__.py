"""Reading, finding and changing elements at positions."""
