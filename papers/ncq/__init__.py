"""Non-congestive queuing (NCQ): figures 1 to 17 and claims NCQ-1 to NCQ-10."""
