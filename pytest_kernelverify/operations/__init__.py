"""What each operation means: signatures, plans and Generic, the exact reference."""
