// npm run graph prints the packages and their allowed imports as a Mermaid diagram, from architecture/layers.json.
// Arrows that follow from two others are left out.
import { readFileSync } from 'node:fs';

const { packages } = JSON.parse(readFileSync(new URL('../architecture/layers.json', import.meta.url), 'utf8'));
const direct = (name) => packages[name].mayImport;
const reach = (name) => new Set(direct(name).flatMap((next) => [next, ...reach(next)]));

console.log('graph TD');
for (const name of Object.keys(packages)) {
  const implied = new Set(direct(name).flatMap((next) => [...reach(next)]));
  const arrows = direct(name).filter((next) => !implied.has(next));
  if (arrows.length === 0) console.log(`  ${name}`);
  for (const next of arrows) console.log(`  ${name} --> ${next}`);
  for (const [file, more] of Object.entries(packages[name].mayImportFrom ?? {})) {
    for (const next of more) console.log(`  ${name} -. "${file}" .-> ${next}`);
  }
}
