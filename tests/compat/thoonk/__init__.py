"""Every sentence of the documents that Headrace descends from, in their own words."""
