"""The lessons of the course: one module each, with its predictions and labs as rows."""
