// Churn for forty minutes of virtual time, with the usual compaction every five minutes. The data file stops growing
// and stays small, although a reader takes a continue token every four minutes. Each token works for at least five
// minutes, and answers 410 when its revision is gone. KAPSTAN_CHURN_WRITES sets the writes per minute.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isExpired, type ResourceClient } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { startControlPlane } from '@kapstan/control-plane';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { expect, test } from 'vitest';

const writesPerMinute = Number(process.env.KAPSTAN_CHURN_WRITES ?? 300);
const minutes = 40;
const objects = 100;
const namespace = 'default';
const minutesBetweenTokens = 4;
// History lasts one to two intervals of five minutes.
const minutesOfHistory = { least: 5, most: 10 };
// The limit covers 0.4 MiB of objects, ten minutes of history at 1.4 MiB each with its pages, and half as much again
// for free pages.
const mostMebibytes = 24 * Math.max(1, writesPerMinute / 300);

/**
 * Makes a minute's writes. One in four deletes an object and creates it again, the others update one. Each value is
 * new, of 0 to 8 KB.
 */
async function churn(client: ResourceClient, minute: number): Promise<void> {
  const write = async (count: number): Promise<void> => {
    const name = `churn-${count % objects}`;
    const object = { metadata: { namespace, name }, data: { text: `${minute} `.repeat((count * 7_919) % 2_700) } };
    if (count % 4 !== 0)
      return void (await client.patch(ConfigMap, { namespace, name }, { type: 'merge', body: object }));
    await client.delete(ConfigMap, { namespace, name });
    await client.create(ConfigMap, object);
  };
  // The writes of one object follow each other.
  for (let from = 0; from < writesPerMinute; from += objects) {
    await Promise.all(Array.from({ length: objects }, (_, index) => write(from + index)));
  }
}

/** A continue token, and the minute in which it was taken. */
interface Token {
  readonly text: string;
  readonly minute: number;
}

async function takeToken(client: ResourceClient, minute: number): Promise<Token> {
  const { continue: text = '' } = await client.listPage(ConfigMap, { namespace, limit: 10 });
  expect(text).not.toBe('');
  return { text, minute };
}

/** Returns whether the token still shows the next page of its revision. If not, the revision must be compacted. */
async function isAnswered(client: ResourceClient, { text }: Token): Promise<boolean> {
  const page = await client
    .listPage(ConfigMap, { namespace, limit: 10, continue: text })
    .catch((error: unknown) => error as Error);
  if (page instanceof Error) {
    expect(isExpired(page)).toBe(true);
    return false;
  }
  expect(page.items).toHaveLength(10);
  return true;
}

test('the data file stays flat under churn while continue tokens are held', { timeout: 120_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-churn-'));
  const clock = new VirtualClock({ startMs: Date.now() });
  const plane = await startControlPlane({ dataDir, clock, http: 'off' });
  const { client } = plane;
  const sizes: number[] = [];
  let expired = 0;
  try {
    for (let count = 0; count < objects; count++) {
      await client.create(ConfigMap, { metadata: { namespace, name: `churn-${count}` } });
    }
    let held: Token[] = [];
    for (let minute = 0; minute < minutes; minute++) {
      if (minute % minutesBetweenTokens === 0) held.push(await takeToken(client, minute));
      await churn(client, minute);
      await clock.advance(60_000);
      sizes.push(statSync(join(dataDir, 'store', 'data.mdb')).size / 1_048_576);
      const answered: Token[] = [];
      for (const token of held) {
        const age = minute + 1 - token.minute;
        const isStillHeld = await isAnswered(client, token);
        if (age < minutesOfHistory.least) expect([token.minute, age, isStillHeld]).toEqual([token.minute, age, true]);
        if (age > minutesOfHistory.most) expect([token.minute, age, isStillHeld]).toEqual([token.minute, age, false]);
        if (isStillHeld) answered.push(token);
        else expired++;
      }
      held = answered;
    }
  } finally {
    await plane.close();
    rmSync(dataDir, { recursive: true });
  }
  console.log(`MiB after each minute of ${writesPerMinute} writes: ${sizes.map((size) => size.toFixed(1)).join(' ')}`);
  // Free pages are reused, but not all at first: a value of several pages needs free neighbours.
  const [early = 0, late = 0] = [sizes[24], sizes.at(-1)];
  expect(late).toBeLessThanOrEqual(1.1 * early);
  expect([early, late].filter((size) => size > mostMebibytes)).toEqual([]);
  expect(expired).toBeGreaterThanOrEqual(minutes / minutesBetweenTokens - 3);
});
