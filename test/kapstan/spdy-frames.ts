// The part of SPDY/3.1 that a kubelet needs to forward ports for kubectl. Streams are opened in pairs, first one for
// errors, then one for data, so their numbers distinguish them and their headers need not be read. Used by kubelet.ts.
import type { Socket } from 'node:net';
import { constants, createDeflate } from 'node:zlib';

const controlBit = 0x80;
const synStream = 1;
const ping = 6;
const finFlag = 1;

/** Answers streams until the connection ends: data comes back in upper case. */
export function serveForwardedPorts(socket: Socket): void {
  const deflate = createDeflate();
  let rest: Buffer = Buffer.alloc(0);
  deflate.on('data', (bytes: Buffer) => compressed.push(bytes));
  const compressed: Buffer[] = [];
  /** The replies share one compressor, so they are written one after the other. */
  let replies = Promise.resolve();
  const reply = (stream: number): void => {
    replies = replies.then(
      () =>
        new Promise((resolve) => {
          // The reply has no headers.
          deflate.write(Buffer.alloc(4));
          deflate.flush(constants.Z_SYNC_FLUSH, () => {
            socket.write(controlFrame(2, Buffer.concat([number(stream), ...compressed.splice(0)])));
            resolve();
          });
        }),
    );
  };
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 8) {
      const length = rest.readUIntBE(5, 3);
      if (rest.length < 8 + length) return;
      const [head, body] = [rest.subarray(0, 8), rest.subarray(8, 8 + length)];
      rest = rest.subarray(8 + length);
      if (((head[0] ?? 0) & controlBit) === 0) answerData(socket, head, body);
      else if (head.readUInt16BE(2) === synStream) reply(body.readUInt32BE(0));
      else if (head.readUInt16BE(2) === ping) socket.write(controlFrame(ping, body));
    }
  });
  socket.once('close', () => deflate.close());
}

function answerData(socket: Socket, head: Buffer, body: Buffer): void {
  const stream = head.readUInt32BE(0);
  const isData = stream % 4 === 3;
  if (!isData) return;
  const isOver = ((head[4] ?? 0) & finFlag) !== 0;
  const text = Buffer.from(body.toString('latin1').toUpperCase(), 'latin1');
  socket.write(Buffer.concat([number(stream), Buffer.of(isOver ? finFlag : 0), length24(text.length), text]));
  // Ends the error stream, because there was no error.
  if (isOver) socket.write(Buffer.concat([number(stream - 2), Buffer.of(finFlag), length24(0)]));
}

function controlFrame(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(controlBit, 3, 0, type, 0), length24(body.length), body]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function length24(value: number): Buffer {
  return number(value).subarray(1);
}
