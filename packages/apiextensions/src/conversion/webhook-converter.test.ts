import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ExactNumber } from '@kapstan/api';
import { WebhookPool } from '@kapstan/apiserver';
import { selfSigned } from '@kapstan/apiserver/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebhookConverter } from './webhook-converter.ts';

/** The specs of the converted objects, in JSON. */
let specs: readonly string[];
let server: Server;
let converter: WebhookConverter;
const pool = new WebhookPool();

beforeAll(async () => {
  const { cert, key } = await selfSigned('CN=hook');
  server = createServer({ cert, key }, (_request, response) => {
    const objects = specs.map((spec) => `{"apiVersion": "example.com/v2", "spec": ${spec}}`);
    response.end(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response":
      {"uid": "u", "result": {"status": "Success"}, "convertedObjects": [${objects.join()}]}}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clientConfig = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    caBundle: Buffer.from(cert).toString('base64'),
  };
  const webhook = { clientConfig, conversionReviewVersions: ['v1'] };
  converter = new WebhookConverter({ name: 'widgets.example.com', webhook, pool, newUid: () => 'u' });
});
afterAll(() => {
  pool.close();
  server.close();
});

const converted = (...answered: string[]): Promise<unknown> => {
  specs = answered;
  return converter.convert({ objects: [], desiredApiVersion: 'example.com/v2' });
};

it('reads numbers of converted objects as those of any custom resource', async () => {
  const answered = '{"a": 1.0, "b": [1e2, 1.50, {"c": 12345678901234567890}], "d": 9007199254740993, "e": null}';
  const spec = { a: 1, b: [100, 1.5, { c: 12345678901234567000 }], d: new ExactNumber('9007199254740993'), e: null };
  expect(await converted(answered)).toEqual([{ apiVersion: 'example.com/v2', spec }]);
});

it('refuses a converted object with a number that no double can hold', async () => {
  await expect(converted('{"a": 1.0}', '{"a": [1e999]}')).rejects.toMatchObject({
    message:
      'returned invalid converted object at index 1: json: cannot unmarshal number 1e999 into Go value of type float64',
    type: 'conversion_webhook_invalid_converted_object_failure',
  });
});
