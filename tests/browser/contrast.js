// The texts below an element whose contrast with their ground is less than WCAG AA's: 4.5, large ones 3.
root => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const once = make => { // of each colour and element
    const known = new Map();
    return key => known.get(key) ?? known.set(key, make(key)).get(key);
  };
  const rgba = once(colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = 'transparent';  // which stays for 'none', which is no colour
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  });
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = once(element => {
    if (!element) return [255, 255, 255, 1];
    const style = getComputedStyle(element);
    const box = element.ownerSVGElement && element.tagName === 'g' ? element.querySelector(':scope > rect') : null;
    return over(rgba(box ? getComputedStyle(box).fill : style.backgroundColor), behind(element.parentElement));
  });
  const luminance = c => {
    const [r, g, b] = c.map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let looked = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || element.closest('style, title') || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const front = over(rgba(element.ownerSVGElement ? style.fill : style.color), ground);
    const [dark, light] = [luminance(front), luminance(ground)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    looked += 1;
    const name = element.className.baseVal ?? element.className;
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)}: '${text}' in ${name}`);
  }
  return { looked, found };
}
