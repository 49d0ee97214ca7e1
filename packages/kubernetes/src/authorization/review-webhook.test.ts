import { nextTurn } from '@kapstan/api/internal';
import type { ReviewStatus, WebhookPool } from '@kapstan/apiserver';
import { expect, it } from 'vitest';
import { reviewWebhook } from './review-webhook.ts';

const limits: number[] = [];

/** Calls a webhook that answers with this text. */
function asked(text: string): Promise<ReviewStatus> {
  const ask: WebhookPool['ask'] = async (_target, { maxAnswerBytes }) => {
    limits.push(maxAnswerBytes);
    return { body: Buffer.from(text), code: 200, contentType: 'application/json' };
  };
  const pool = { ask } as WebhookPool;
  return reviewWebhook({ pool, target: { url: 'https://hook' }, version: 'v1', timeoutMs: 1000 })({});
}

it('reads a long answer in several turns, of 1 MiB at most', async () => {
  const spec = { groups: Array.from({ length: 100_000 }, (_, at) => `g${at}`) };
  let isRead = false;
  const reading = asked(JSON.stringify({ status: { allowed: true }, spec })).then((status) => {
    isRead = true;
    return status;
  });
  let turns = 0;
  for (; !isRead; turns++) await nextTurn();
  expect(turns).toBeGreaterThan(3);
  expect(await reading).toEqual({ allowed: true, denied: false, reason: '' });
  expect(limits).toEqual([1024 * 1024]);
});

it.each(['status: {allowed: true}', '# as YAML\n{status: {allowed: true}}'])('reads %j', async (text) => {
  expect(await asked(text)).toEqual({ allowed: true, denied: false, reason: '' });
});

it.each([
  [
    '"status"',
    /^couldn't get version\/kind; json parse error: json: cannot unmarshal string into Go value of type struct/,
  ],
  ['&a [*a, *a]', /^yaml: anchor 'a' value contains itself/],
  ['{"status":{"allowed":true}', /^couldn't get version\/kind; json parse error: unexpected end of JSON input/],
  ['{status: {allowed: true}}', /^couldn't get version\/kind; json parse error: invalid character 's'/],
])('names what is wrong with %s', async (text, why) => {
  await expect(asked(text)).rejects.toThrow(why);
});
