// The page of the inspector: follows the process, and draws the sections that changed.
import type { Overview, SectionName, Sections } from '../src/overview.ts';
import { byId, h, replace } from './dom.ts';
import { count, setNow, updateTimes } from './format.ts';
import { keySearch } from './keys.ts';
import { drawSection, titles } from './sections.ts';
import { follow } from './stream.ts';

let searched = '';

function drawAll({ subject, name, at, sections }: Overview): void {
  setNow(at);
  byId('name').textContent = `${subject} ${name}`;
  document.title = `${name} – Kapstan inspector`;
  const names = (Object.keys(titles) as SectionName[]).filter((section) => sections[section] !== undefined);
  const missing = names.filter((section) => document.getElementById(section) === null);
  if (missing.length > 0) {
    byId('main').replaceChildren(...names.map(frame));
    byId('nav').replaceChildren(
      ...names.map((section) => h('li', {}, h('a', { href: `#${section}` }, titles[section]))),
    );
  }
  drawSections(sections);
}

function frame(name: SectionName): HTMLElement {
  const title = `${name}-title`;
  const search = name === 'queues' ? [h('div', { id: 'search' })] : [];
  const heading = h('h2', { id: title, tabindex: '-1' }, titles[name]);
  return h('section', { id: name, 'aria-labelledby': title }, heading, h('div', { id: `${name}-body` }), ...search);
}

function drawSections(sections: Sections): void {
  for (const name of Object.keys(sections) as SectionName[]) {
    const section = sections[name];
    if (section !== undefined) replace(byId(`${name}-body`), ...drawSection(name, section));
  }
  if (sections.queues === undefined) return;
  const { items } = sections.queues;
  const controllers = items.filter(({ hidesKeys }) => !hidesKeys).map(({ controller }) => controller);
  // A form in use is not changed.
  if (controllers.join() !== searched)
    byId('search').replaceChildren(h('h3', {}, 'Find a key'), keySearch(controllers));
  searched = controllers.join();
  tellFailing(items.filter(({ failing }) => failing.total > 0).length);
}

/** The text is read aloud, so it changes only with the number of controllers. */
function tellFailing(failing: number): void {
  const text =
    failing === 0 ? '' : `⚠ ${count(failing)} ${failing === 1 ? 'controller has' : 'controllers have'} failing keys.`;
  const alarm = byId('alarm');
  if (alarm.textContent !== text) alarm.textContent = text;
}

setInterval(updateTimes, 1000);
void follow({
  onOverview: drawAll,
  onChange: ({ at, sections }) => {
    setNow(at);
    drawSections(sections);
  },
  onStatus: (text) => {
    byId('status').textContent = text;
  },
});
