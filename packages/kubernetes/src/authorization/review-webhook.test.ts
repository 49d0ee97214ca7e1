import { nextTurn } from '@kapstan/api/internal';
import type { ReviewStatus, WebhookPool } from '@kapstan/apiserver';
import { expect, it } from 'vitest';
import { reviewWebhook } from './review-webhook.ts';

const limits: number[] = [];

/** Calls a webhook that answers with this text. */
function asked(text: string): Promise<ReviewStatus> {
  const post: WebhookPool['post'] = async (_target, { maxAnswerBytes }) => {
    limits.push(maxAnswerBytes);
    return Buffer.from(text);
  };
  const pool = { post } as WebhookPool;
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

it.each(['status: {allowed: true}', '"status"', '&a [*a, *a]', ' '])('takes %s for no answer', async (text) => {
  await expect(asked(text)).rejects.toThrow(
    /^couldn't get version\/kind; json parse error: json: cannot unmarshal string into Go value of type struct/,
  );
});

it.each(['{"status":{"allowed":true}', '{status: {allowed: true}}'])('names what is wrong with %s', async (text) => {
  await expect(asked(text)).rejects.toThrow(/^couldn't get version\/kind; json parse error: /);
  await expect(asked(text)).rejects.not.toThrow('cannot unmarshal string');
});
