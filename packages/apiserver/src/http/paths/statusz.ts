// /statusz: since when the server runs, its versions, and its paths for debugging. Part of path-router.ts. Source:
// apiserver pkg/server/statusz.
import { type Clock, formatTime } from '@kapstan/api';
import { toDate } from '@kapstan/api/internal';
import { versionInfo } from '../../discovery/version-info.ts';
import { randomDelimiter, type StructuredPage, textHead } from './structured-page.ts';

export interface StatuszOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Returns the paths of the index. */
  readonly paths: () => readonly string[];
}

/** Paths of the API itself. */
const apiFolders = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known']);

export function statuszPage({ clock, random, paths }: StatuszOptions): StructuredPage {
  // As in Go, the start time of the process is in whole seconds.
  const startMs = Math.floor((clock.now() - process.uptime() * 1000) / 1000) * 1000;
  const uptimeSeconds = (): number => Math.max(0, Math.floor((clock.now() - startMs) / 1000));
  const { goVersion, major, minor, emulationMajor, emulationMinor, gitVersion } = versionInfo;
  const binaryVersion = /^v(\d+\.\d+\.\d+)/.exec(gitVersion)?.[1] ?? `${major}.${minor}`;
  const emulationVersion = `${emulationMajor}.${emulationMinor}`;
  return {
    name: 'statusz',
    kind: 'Statusz',
    text: () => {
      const delimiter = randomDelimiter(random);
      const lines = [
        ['Started', formatUnixDate(startMs)],
        ['Up', formatUptime(uptimeSeconds())],
        ['Go version', goVersion],
        ['Binary version', binaryVersion],
        ['Emulation version', emulationVersion],
        ['Paths', foldersOf(paths()).join(' ')],
      ];
      return `${textHead('statusz')}\n${lines.map(([name, value]) => `${name}${delimiter} ${value}\n`).join('')}`;
    },
    members: () => ({
      startTime: formatTime(startMs),
      uptimeSeconds: uptimeSeconds(),
      goVersion,
      binaryVersion,
      emulationVersion,
      paths: foldersOf(paths()),
    }),
  };
}

/** Returns the first segments of the paths, except those of the API. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = paths.map((path) => `/${path.split('/')[1] ?? ''}`);
  return [...new Set(folders)].filter((folder) => folder !== '/' && !apiFolders.has(folder)).sort();
}

function formatUptime(seconds: number): string {
  const two = (count: number): string => String(count).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

/** Returns for example "Mon Nov  2 16:22:31 UTC 2026". */
function formatUnixDate(ms: number): string {
  const [weekday = '', day = '', month = '', year = '', time = ''] = toDate(ms)
    .toUTCString()
    .replace(',', '')
    .split(' ');
  return `${weekday} ${month} ${day.replace(/^0/, ' ')} ${time} UTC ${year}`;
}
