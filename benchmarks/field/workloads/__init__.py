"""What is measured, a file each: a contestant goes in, figures by name come out."""
