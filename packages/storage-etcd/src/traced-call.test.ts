// Calls of traced requests, over real sockets: a member of etcd that answers as a test says.
import { status } from '@grpc/grpc-js';
import type { CallSpan, SpanAttributes } from '@kapstan/storage';
import { expect, it } from 'vitest';
import { refusal, startScriptedEtcd } from './testing/scripted-etcd.ts';
import { loadWire } from './wire.ts';

interface Part {
  readonly name: string;
  readonly kind: string;
  attributes: SpanAttributes;
  readonly events: (readonly [string, SpanAttributes])[];
  isError: boolean;
  isOver: boolean;
}

function recorder(): { readonly span: CallSpan; readonly parts: Part[] } {
  const parts: Part[] = [];
  const startPart: CallSpan['startPart'] = (name, attributes, kind = 'internal') => {
    const part: Part = { name, kind, attributes, events: [], isError: false, isOver: false };
    parts.push(part);
    return {
      traceParent: `part-${parts.length}`,
      startPart,
      addEvent: (event, more = {}) => void part.events.push([event, more]),
      addAttributes: (more) => {
        part.attributes = { ...part.attributes, ...more };
      },
      fail: () => {
        part.isError = true;
      },
      end: () => {
        part.isOver = true;
      },
    };
  };
  const ignore = (): void => undefined;
  return {
    parts,
    span: { traceParent: '', startPart, addEvent: ignore, addAttributes: ignore, fail: ignore, end: ignore },
  };
}

const key = Buffer.from('/a');
const sent = (size: unknown) => ({
  'rpc.message.type': 'SENT',
  'rpc.message.id': 1,
  'rpc.message.compressed_size': size,
  'rpc.message.uncompressed_size': size,
});
const received = (size: unknown) => ({ ...sent(size), 'rpc.message.type': 'RECEIVED' });

it('is a client span with the sizes of both messages, and its member hears of it', async () => {
  await using etcd = await startScriptedEtcd({ answer: () => ({ header: { revision: 7 } }) });
  const { span, parts } = recorder();
  await etcd.caller.read(loadWire().range, { key }, { span });
  expect(parts).toEqual([
    {
      name: 'etcdserverpb.KV/Range',
      kind: 'client',
      attributes: {
        'rpc.method': 'etcdserverpb.KV/Range',
        'rpc.system.name': 'grpc',
        'server.address': '127.0.0.1',
        'server.port': expect.any(Number),
        'rpc.response.status_code': 'OK',
      },
      events: [
        ['message', sent(key.length + 2)],
        ['message', received(expect.any(Number))],
      ],
      isError: false,
      isOver: true,
    },
  ]);
  expect(etcd.asked[0]?.traceParent).toBe('part-1');
});

it('is a span for each member that is asked, with the status of each', async () => {
  await using etcd = await startScriptedEtcd({
    members: 2,
    answer: ({ member }) => {
      if (member === 0) throw refusal(status.UNAVAILABLE, 'etcdserver: leader changed');
      return { header: { revision: 7 } };
    },
  });
  const { span, parts } = recorder();
  await etcd.caller.read(loadWire().range, { key }, { span });
  expect(parts.map(({ attributes, isError }) => [attributes['rpc.response.status_code'], isError])).toEqual([
    ['Unavailable', true],
    ['OK', false],
  ]);
  expect(etcd.asked.map(({ traceParent }) => traceParent)).toEqual(['part-1', 'part-2']);
});

it('ends when the call is given up', async () => {
  await using etcd = await startScriptedEtcd({ answer: () => new Promise(() => undefined) });
  const { span, parts } = recorder();
  const abort = new AbortController();
  const asked = etcd.caller.read(loadWire().range, { key }, { span, signal: abort.signal });
  await etcd.askedFor(1);
  abort.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
  await expect.poll(() => parts[0]).toMatchObject({ isError: true, isOver: true });
  expect(parts[0]?.attributes['rpc.response.status_code']).toBe('Canceled');
});

it('is not sent to the member with a call that is not traced', async () => {
  await using etcd = await startScriptedEtcd({ answer: () => ({ header: { revision: 7 } }) });
  await etcd.caller.read(loadWire().range, { key });
  expect(etcd.asked[0]?.traceParent).toBeUndefined();
});
