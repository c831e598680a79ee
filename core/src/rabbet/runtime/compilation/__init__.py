"""From a program to an executable: text, compiler, what is said when it refuses, other hardware."""
