"""What programs can run on: backends, their clients, devices, topologies, and options of the compiler."""
