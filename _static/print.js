// Paper is light: a page in dark colours is printed in light ones.
{
  const page = document.documentElement;
  let before = null;
  addEventListener("beforeprint", () => {
    before = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete page.dataset.theme;
    else page.dataset.theme = before;
  });
}
