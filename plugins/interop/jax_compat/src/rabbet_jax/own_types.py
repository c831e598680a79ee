"""Types that libraries make themselves: from a class to the function that tells the type of a value."""

own_types: dict = {}
