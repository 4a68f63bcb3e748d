// Goes where the page has moved, and keeps the place inside the page that the old link named.
location.replace(document.querySelector("main a").href + location.hash);
