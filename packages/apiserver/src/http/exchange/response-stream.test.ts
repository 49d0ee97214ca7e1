import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { NodeResponseStream, type ResponseStream } from './response-stream.ts';

const bytes = (value: string): Uint8Array => Buffer.from(value);

/** Returns the bytes that a client receives for one request: head and body as sent. */
async function answerOf(version: string, answer: (stream: ResponseStream, response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(new NodeResponseStream(response), response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`GET / HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`);
  const [head = '', body = ''] = (await text(socket)).split(/\r\n\r\n(.*)/s);
  return { head, body };
}

const frame = bytes('{"type":"ADDED"}\n');
const chunk = `11\r\n${frame}\r\n`;

it('sends what readers share as a chunk a write', async () => {
  const told: number[] = [];
  const { body } = await answerOf('1.1', (_stream, response) => {
    const stream = new NodeResponseStream(response, { onWrite: (length) => told.push(length) });
    response.flushHeaders();
    stream.writeShared([frame]);
    stream.writeShared([bytes('second\n'), frame]);
    stream.writeShared([frame]);
    stream.end();
  });
  expect(body).toBe(`${chunk}18\r\nsecond\n${frame}\r\n${chunk}0\r\n\r\n`);
  expect(told).toEqual([17, 24, 17]);
});

it('sends the first of what readers share behind the head, also while all is held back', async () => {
  const { head, body } = await answerOf('1.1', (stream) => {
    stream.cork();
    stream.writeShared([frame]);
    stream.writeShared([frame]);
    stream.uncork();
    stream.end();
  });
  expect(head).toContain('Transfer-Encoding: chunked');
  expect(body).toBe(`${chunk}${chunk}0\r\n\r\n`);
});

it('does not end a body by sharing nothing', async () => {
  const { body } = await answerOf('1.1', (stream, response) => {
    response.flushHeaders();
    stream.writeShared([]);
    stream.writeShared([bytes('')]);
    stream.writeShared([frame]);
    stream.end();
  });
  expect(body).toBe(`${chunk}0\r\n\r\n`);
});

it('sends what readers share as it is to a client of HTTP/1.0', async () => {
  const { head, body } = await answerOf('1.0', (stream, response) => {
    response.flushHeaders();
    stream.writeShared([frame]);
    stream.writeShared([frame, frame]);
    stream.end();
  });
  expect(head).not.toContain('chunked');
  expect(body).toBe(`${frame}${frame}${frame}`);
});

it('makes one buffer a write of what readers share, and the same for all of them', async () => {
  const written: unknown[] = [];
  const second = bytes('second\n');
  const write = (stream: ResponseStream, response: ServerResponse): void => {
    response.flushHeaders();
    const { socket } = response;
    if (socket === null) throw new Error('no connection');
    const send = socket.write.bind(socket) as (data: unknown, ...rest: unknown[]) => boolean;
    Object.assign(socket, {
      write: (data: unknown, ...rest: unknown[]) => {
        written.push(data);
        return send(data, ...rest);
      },
    });
    stream.writeShared([frame, second]);
    Reflect.deleteProperty(socket, 'write');
    stream.end();
  };
  await answerOf('1.1', write);
  await answerOf('1.1', write);
  expect(written.map(String)).toEqual(Array(2).fill(`18\r\n${frame}second\n\r\n`));
  expect(written[0]).toBe(written[1]);
});
