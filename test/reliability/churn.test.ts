// Churn for forty minutes of virtual time, compacted every five as always: the data file stops growing, although a reader holds
// a continue token, and the token says 410 when its past is gone. KAPSTAN_CHURN_WRITES sets the writes a minute.
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

/** One write in four deletes an object and makes it anew, the others update one; each value is new, of 0 to 8 KB. */
async function churn(client: ResourceClient, minute: number): Promise<void> {
  const write = async (count: number): Promise<void> => {
    const name = `churn-${count % objects}`;
    const object = { metadata: { namespace, name }, data: { text: `${minute} `.repeat((count * 7_919) % 2_700) } };
    if (count % 4 !== 0)
      return void (await client.patch(ConfigMap, { namespace, name }, { type: 'merge', body: object }));
    await client.delete(ConfigMap, { namespace, name });
    await client.create(ConfigMap, object);
  };
  // Those of one object follow each other.
  for (let from = 0; from < writesPerMinute; from += objects) {
    await Promise.all(Array.from({ length: objects }, (_, index) => write(from + index)));
  }
}

test('the data file stays flat under churn while a continue token is held', { timeout: 120_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-churn-'));
  const clock = new VirtualClock({ startMs: Date.now() });
  const plane = await startControlPlane({ dataDir, clock, http: 'off' });
  const { client } = plane;
  const sizes: number[] = [];
  try {
    for (let count = 0; count < objects; count++) {
      await client.create(ConfigMap, { metadata: { namespace, name: `churn-${count}` } });
    }
    const { continue: token = '' } = await client.listPage(ConfigMap, { namespace, limit: 10 });
    expect(token).not.toBe('');
    for (let minute = 1; minute <= minutes; minute++) {
      await churn(client, minute);
      await clock.advance(60_000);
      sizes.push(statSync(join(dataDir, 'store', 'data.mdb')).size);
      if (minute >= 5) continue;
      expect((await client.listPage(ConfigMap, { namespace, limit: 10, continue: token })).items).toHaveLength(10);
    }
    const late = await client
      .listPage(ConfigMap, { namespace, limit: 10, continue: token })
      .catch((error: unknown) => error);
    expect(isExpired(late)).toBe(true);
  } finally {
    await plane.close();
    rmSync(dataDir, { recursive: true });
  }
  const mebibytes = sizes.map((size) => (size / 1_048_576).toFixed(1)).join(' ');
  console.log(`MiB after each minute of ${writesPerMinute} writes: ${mebibytes}`);
  // History lasts one to two intervals of five minutes; then free pages are used again, at first not all: values of several
  // pages need free neighbours.
  expect(sizes.at(-1)).toBeLessThanOrEqual(1.1 * (sizes[24] as number));
});
