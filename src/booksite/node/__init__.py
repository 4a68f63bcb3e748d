"""Node.js and the npm packages that the build and the browser tests need."""
