import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@kapstan/api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HttpServer, startHttpServer } from '../server/http-server.ts';
import { BodyWriter } from './body-writer.ts';
import type { Exchange } from './exchange.ts';

const threshold = 128 * 1024;
const chunks: Record<string, readonly number[]> = {
  nothing: [],
  'an empty chunk': [0],
  'one byte': [1],
  'a chunk below the bound': [threshold - 1],
  'one byte and a chunk up to the bound': [1, threshold - 1],
  'two bytes and a chunk beyond the bound': [1, 1, threshold - 1],
  'a chunk beyond the bound': [threshold + 1],
  'two chunks beyond the bound': [threshold + 1, threshold + 1],
};
/** Enough for many pieces, all different. */
const items = Array.from({ length: 3_000 }, (_, index) => Buffer.alloc(1_000, `${index} `));
let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({
    handle: async (exchange) => {
      exchange.setHeader('Content-Type', 'text/plain');
      const writer = new BodyWriter(exchange, { status: 203, clock: systemClock });
      for (const size of chunks[exchange.path.slice(1)] ?? []) writer.push(Buffer.alloc(size, 'b'));
      for (const item of exchange.path === '/items' ? items : []) {
        writer.push(item);
        if (writer.needsBreath) await writer.breathe();
      }
      writer.finish();
    },
  });
});
afterAll(() => server.close());

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly encoding: string | undefined;
  readonly vary: string | undefined;
  readonly bytes: Buffer;
}

function get(what: string, acceptEncoding: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = acceptEncoding === '' ? {} : { 'accept-encoding': acceptEncoding };
    const sent = request(`${server.url}/${encodeURIComponent(what)}`, { headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      const { 'content-encoding': encoding, 'content-type': type, vary } = response.headers;
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode, type, encoding, vary, bytes: Buffer.concat(pieces) }),
      );
    });
    sent.on('error', reject).end();
  });
}

const isLarge = (what: string): boolean => what.includes('beyond');
const sizeOf = (what: string): number => (chunks[what] ?? []).reduce((sum, size) => sum + size, 0);

it.each(Object.keys(chunks))('an answer of %s is compressed when it is large for those who take it', async (what) => {
  const { status, type, encoding, vary, bytes } = await get(what, 'gzip');
  expect([status, type]).toEqual([203, 'text/plain']);
  expect([encoding, vary]).toEqual(isLarge(what) ? ['gzip', 'Accept-Encoding'] : [undefined, undefined]);
  const body = encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  expect(body.equals(Buffer.alloc(sizeOf(what), 'b'))).toBe(true);
});

it.each([
  ['', undefined],
  ['gzip', 'gzip'],
  ['deflate, , gzip,', 'gzip'],
  ['deflate', undefined],
  ['gzip;q=1', undefined],
  ['gzip;q=0, identity', undefined],
  [', ,  other, nothing, what, ', undefined],
])('a large answer for Accept-Encoding "%s" is in %s', async (accept, encoding) => {
  const answer = await get('a chunk beyond the bound', accept);
  expect([answer.encoding, answer.status]).toEqual([encoding, 203]);
  expect((encoding === undefined ? answer.bytes : gunzipSync(answer.bytes)).length).toBe(threshold + 1);
});

it('answers that are compressed at once do not mix', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => get('two chunks beyond the bound', 'gzip')));
  for (const { status, bytes } of answers) expect([status, gunzipSync(bytes).length]).toEqual([203, 2 * threshold + 2]);
});

it.each(['', 'gzip'])(
  'pieces of a large answer arrive as they were pushed, whatever buffers they go through: "%s"',
  async (accept) => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => get('items', accept)));
    for (const { encoding, bytes } of answers) {
      expect((encoding === 'gzip' ? gunzipSync(bytes) : bytes).equals(Buffer.concat(items))).toBe(true);
    }
  },
);

it('a piece goes through a buffer again only when its bytes were taken', async () => {
  const taken: (() => void)[] = [];
  const written: Buffer[] = [];
  const stream = {
    write: (bytes: Buffer, onTaken: () => void) => {
      written.push(bytes);
      taken.push(onTaken);
      return true;
    },
    drained: () => Promise.resolve(),
  };
  const exchange = { header: () => undefined, open: () => stream, signal: { aborted: false } } as unknown as Exchange;
  const writer = new BodyWriter(exchange, { status: 200, clock: systemClock });
  const send = async (letter: string): Promise<void> => {
    for (let n = 0; n < 3; n++) writer.push(Buffer.alloc(100_000, letter));
    expect(await writer.breathe()).toBe(true);
  };
  await send('a');
  await send('b');
  taken[0]?.();
  await send('c');
  const [first, second, third] = written as [Buffer, Buffer, Buffer];
  expect([second.equals(Buffer.alloc(300_000, 'b')), third.equals(Buffer.alloc(300_000, 'c'))]).toEqual([true, true]);
  expect([first.buffer === second.buffer, first.buffer === third.buffer]).toEqual([false, true]);
});
