// Completes package-lock.json with the optional packages of other platforms. npm leaves out packages that its registry
// does not offer, and `npm ci` then refuses the lock file. Run it after adding a dependency.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const systems = ['darwin', 'linux', 'win32', 'android', 'freebsd', 'openbsd', 'netbsd', 'sunos', 'aix', 'openharmony'];
const processors = ['arm64', 'x64', 'ia32', 'arm', 'riscv64', 'ppc64', 's390x', 'loong64', 'mips64el', 'wasm32'];
const aliases = { windows: 'win32', 64: 'x64', msvc: 'win32', gnu: 'linux', gnueabihf: 'linux' };

/**
 * Returns the platform in a package's name: `@x/y-linux-x64-musl` → `{ os: ['linux'], cpu: ['x64'], libc: ['musl'] }`.
 */
function platform(name) {
  const words = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => aliases[word] ?? word);
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  const libc =
    os[0] !== 'linux' ? [] : words.some((w) => w.startsWith('musl')) ? ['musl'] : name.includes('gnu') ? ['glibc'] : [];
  return {
    ...(cpu.length ? { cpu } : {}),
    ...(libc.length ? { libc } : {}),
    ...(os.length ? { os } : name.startsWith('fsevents') ? { os: ['darwin'] } : {}),
  };
}

function isLocked(from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${at}${at ? '/' : ''}node_modules/${name}`]) return true;
    if (at === '' || at.startsWith('packages/')) return lock.packages[`node_modules/${name}`] !== undefined;
    if (!at.includes('/node_modules/')) at = '';
  }
}

let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue;
    const version = range.replace(/^[~^]/, '');
    const known = platform(name);
    console.log(`${path} needs ${name}@${range}: ${JSON.stringify(known)}`);
    lock.packages[`node_modules/${name}`] = {
      version,
      ...known,
      ...(entry.dev ? { dev: true } : {}),
      license: entry.license,
      optional: true,
    };
    added += 1;
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries(sorted);
if (added > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} added`);
