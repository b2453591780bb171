/**
 * Makes the boxes that scroll sideways reachable by keyboard, and only these: a block of code or a table that fits is
 * skipped by the tab key. Without scripts every box is reachable.
 */
export function followOverflow(within: ParentNode): void {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) update(target as HTMLElement);
  });
  for (const box of within.querySelectorAll<HTMLElement>("pre[tabindex], .table[tabindex]")) observer.observe(box);
}

function update(box: HTMLElement): void {
  const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
  if (scrolls) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}
