import { silentLogger } from '@kapstan/api';
import { formatMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { FollowedFile } from './followed-file.ts';
import { contentHash, ReloadMetrics } from './reload-metrics.ts';

let clock: VirtualClock;
let log: string[];
let read: () => Promise<string>;
let used: string[];
let refuse: (text: string) => void;
let use: (text: string) => Promise<boolean>;
let metrics: ReloadMetrics;

beforeEach(() => {
  clock = new VirtualClock();
  log = [];
  used = [];
  refuse = () => undefined;
  use = async (text) => {
    used.push(text);
    return true;
  };
});

/** Follows a file that is read once a minute and had the text "one" at the start. */
function follow(): FollowedFile {
  read = () => Promise.resolve('one');
  const logger = {
    ...silentLogger,
    info: (message: string) => void log.push(message),
    error: (message: string, details?: { readonly error?: unknown }) => void log.push(`${message}: ${details?.error}`),
  };
  metrics = new ReloadMetrics({ what: 'encryption', serverId: 'server', clock, hash: contentHash('one') });
  const ports = { metrics, clock, logger };
  const what = 'encryption configuration';
  const file = new FollowedFile({ ...ports, what, pollMs: 60_000, read: () => read(), text: 'one' });
  const parse = (text: string): string => {
    refuse(text);
    return text;
  };
  file.follow({ parse, apply: (text) => use(text) });
  return file;
}

/** Lets the file be checked this many times. */
async function looks(times = 1): Promise<void> {
  for (let look = 0; look < times; look++) await clock.advance(60_000);
}

const failures = (): string | undefined =>
  formatMetrics(metrics.families()).match(/reloads_total\{apiserver_id_hash="[^"]+",status="failure"\} (\d+)/)?.[1];
const hashes = (): (string | undefined)[] =>
  [...formatMetrics(metrics.families()).matchAll(/last_config_info\{.*,hash="([^"]*)"\} 1/g)].map(([, hash]) => hash);

describe('FollowedFile', () => {
  it('hands a changed text on once, and shows the hash of the text in use', async () => {
    const file = follow();
    const [before] = hashes();
    await looks();
    expect(used).toEqual([]);
    read = () => Promise.resolve('two');
    await looks(2);
    expect(used).toEqual(['two']);
    expect(log).toEqual(['reloaded the encryption configuration']);
    expect(hashes()).toHaveLength(1);
    expect(hashes()[0]).not.toBe(before);
    file.close();
  });

  it('does not look again at a text that was refused, until it changes', async () => {
    const file = follow();
    let parsed = 0;
    refuse = (text) => {
      parsed++;
      if (text === 'wrong') throw new Error('no configuration');
    };
    read = () => Promise.resolve('wrong');
    await looks(3);
    expect(parsed).toBe(1);
    expect(log).toEqual(['could not reload the encryption configuration; the old one stays in use: no configuration']);
    read = () => Promise.resolve('right');
    await looks();
    expect(used).toEqual(['right']);
    file.close();
  });

  it('tries again what could not be read or put to use, counts each time, and logs one reason once', async () => {
    const file = follow();
    read = () => Promise.reject(new Error('gone'));
    await looks(2);
    expect(failures()).toBe('2');
    read = () => Promise.resolve('two');
    use = () => Promise.reject(new Error('nobody answers'));
    await looks(2);
    expect(failures()).toBe('4');
    const line = 'could not reload the encryption configuration; the old one stays in use: ';
    expect(log).toEqual([`${line}gone`, `${line}nobody answers`]);
    use = () => Promise.resolve(true);
    await looks();
    expect(log.at(-1)).toBe('reloaded the encryption configuration');
    file.close();
  });

  it('tells the same reason again when another text has it', async () => {
    const file = follow();
    use = () => Promise.reject(new Error('nobody answers'));
    read = () => Promise.resolve('two');
    await looks();
    read = () => Promise.resolve('three');
    await looks();
    expect(log).toHaveLength(2);
    file.close();
  });

  it('counts no reload for a text that changes nothing', async () => {
    const file = follow();
    const before = hashes();
    use = () => Promise.resolve(false);
    read = () => Promise.resolve('one, in other words');
    await looks();
    expect(log).toEqual([]);
    expect(hashes()).toEqual(before);
    file.close();
  });

  it('stops when it is closed, also in the midst of a look', async () => {
    const file = follow();
    let end: (text: string) => void = () => undefined;
    read = () => new Promise((resolve) => (end = resolve));
    await looks();
    file.close();
    use = () => Promise.reject(new Error('closed'));
    end('two');
    await looks(2);
    expect(log).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});
