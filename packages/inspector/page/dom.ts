// Makes elements. Texts are set as text, so text from a server never becomes markup.

type Child = Node | string | undefined;
type Attributes = Readonly<Record<string, string | ((event: Event) => void) | undefined>>;

/** Returns a new element; a function among the attributes listens to the event of that name. */
export function h(tag: string, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children) if (child !== undefined) element.append(child);
  return element;
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}

/** Replaces the content of an element, and gives the focus back to the element with the same data-focus. */
export function replace(parent: HTMLElement, ...children: readonly Node[]): void {
  const focused = document.activeElement;
  const name = parent.contains(focused) ? focused?.getAttribute('data-focus') : undefined;
  parent.replaceChildren(...children);
  if (name === undefined || name === null) return;
  for (const element of parent.querySelectorAll<HTMLElement>('[data-focus]'))
    if (element.getAttribute('data-focus') === name) return element.focus();
}

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => Child;
  readonly isNumber?: boolean;
}

/** Returns a table that scrolls by itself if it is too wide, or a sentence if it has no rows. */
export function table<T>(caption: string, rows: readonly T[], columns: readonly Column<T>[]): HTMLElement {
  if (rows.length === 0) return h('p', { class: 'soft' }, `${caption}: none.`);
  const head = columns.map(({ title, isNumber }) =>
    h('th', { scope: 'col', class: isNumber ? 'n' : undefined }, title),
  );
  const body = rows.map((row) =>
    h(
      'tr',
      {},
      ...columns.map(({ cell, isNumber }, index) =>
        index === 0 ? h('th', { scope: 'row' }, cell(row)) : h('td', { class: isNumber ? 'n' : undefined }, cell(row)),
      ),
    ),
  );
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption, 'data-focus': `table ${caption}` },
    h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...body)),
  );
}
