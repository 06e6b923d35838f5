// Copies a picture to the clipboard, or saves it where a page may not write to that. It needs nothing from outside.
(() => {
  const root = document.documentElement;
  if (root.dataset.mtCopy) return;
  root.dataset.mtCopy = "on"; // only now the buttons are shown
  document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
  const DENSITY = 2, MARGIN = 8, SLACK = 6; // pixels of a PNG for one of the page; pixels around; for other fonts

  // The picture with its style sheets in an SVG, in the colours that it has here.
  function draw(picture) {
    const style = getComputedStyle(picture);
    const sheets = [];
    for (let e = picture.previousElementSibling; e?.matches("style"); e = e.previousElementSibling) sheets.unshift(e);
    const isDark = style.colorScheme === "dark" || (style.colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    const copy = picture.cloneNode(true);
    const boxes = picture.querySelectorAll("input");
    copy.querySelectorAll("input").forEach((box, i) => box.toggleAttribute("checked", boxes[i].checked));
    const holder = document.createElement("div");
    holder.dataset.jpThemeLight = !isDark;
    for (const [name] of sheets.map(e => e.textContent).join("").matchAll(/--(?:jp|vscode)-[\w-]+/g))
      holder.style.setProperty(name, style.getPropertyValue(name));
    const hidden = [...picture.querySelectorAll(".mt-scroll")].map(e => e.scrollWidth - e.clientWidth);
    const widest = picture.clientWidth + Math.max(0, ...hidden); // what scrolls is copied whole
    holder.style.cssText += `;position:absolute;visibility:hidden;width:max-content;max-width:${widest}px`;
    holder.append(copy);
    picture.parentElement.append(holder); // to be measured
    const width = Math.ceil(holder.getBoundingClientRect().width) + SLACK, height = holder.offsetHeight;
    holder.remove();
    holder.prepend(...sheets.map(e => e.cloneNode(true)));
    for (const name of ["position", "visibility", "max-width"]) holder.style.removeProperty(name);
    holder.style.width = `${width}px`;
    holder.style.padding = `${MARGIN}px`;
    const [w, h] = [width, height].map(size => size + 2 * MARGIN);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">`
      + `<rect width="100%" height="100%" fill="${style.backgroundColor}"/><foreignObject width="100%" height="100%">`
      + `${new XMLSerializer().serializeToString(holder)}</foreignObject></svg>`;
    return { svg, w, h };
  }

  async function paint({ svg, w, h }) {
    const image = new Image(w, h), canvas = document.createElement("canvas");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    [canvas.width, canvas.height] = [w * DENSITY, h * DENSITY];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise(done => canvas.toBlob(done, "image/png"));
  }

  async function copy(picture, kind) {
    const drawn = draw(picture);
    const type = kind === "png" ? "image/png" : "image/svg+xml";
    const file = kind === "png" ? paint(drawn) : Promise.resolve(new Blob([drawn.svg], { type }));
    try {
      const parts = kind === "png" || ClipboardItem.supports?.(type) ? { [type]: file } : {};
      if (kind === "svg") parts["text/plain"] = new Blob([drawn.svg], { type: "text/plain" });
      await navigator.clipboard.write([new ClipboardItem(parts)]);
      return "copied";
    } catch { // the browser has no clipboard for this page, such as one that is neither local nor encrypted
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await file);
      link.download = `picture.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000); // when it has long been saved
      return `saved as ${link.download}`;
    }
  }

  document.addEventListener("click", async event => {
    const button = event.target.closest?.(".mt-copy button");
    if (!button) return;
    const bar = button.closest(".mt-copy"), said = bar.querySelector("output");
    said.textContent = await copy(bar.previousElementSibling, button.value).catch(error => `not copied: ${error.message}`);
    setTimeout(() => { said.textContent = ""; }, 3000);
  });
})();
