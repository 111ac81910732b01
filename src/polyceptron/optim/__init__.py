"""What iterates: hyperplanes, their criterion, the loop, and what a killed fit goes on from."""
