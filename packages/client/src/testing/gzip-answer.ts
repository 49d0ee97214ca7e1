// Compresses an answer of a scripted server while the test's script writes it. Each write is flushed, so a script may leave a body open.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createGzip } from 'node:zlib';
import { nextTurn } from '@kapstan/api/internal';

export function gzipAnswer(response: ServerResponse): void {
  const gzip = createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH });
  const write = response.write.bind(response) as (chunk: Buffer) => boolean;
  const end = response.end.bind(response) as () => void;
  const writeHead = response.writeHead.bind(response) as (status: number, headers: OutgoingHttpHeaders) => unknown;
  let isEmpty = false;
  gzip.on('data', (chunk: Buffer) => void (response.destroyed || write(chunk)));
  gzip.on('drain', () => void response.emit('drain'));
  gzip.on('end', () => void (response.destroyed || end()));
  Object.assign(response, {
    writeHead: (status: number, headers: OutgoingHttpHeaders = {}) => {
      const { 'content-length': _, ...rest } = headers;
      isEmpty = status === 204 || status === 304;
      writeHead(status, isEmpty ? headers : { ...rest, 'content-encoding': 'gzip' });
      return response;
    },
    write: (chunk: string | Buffer, done?: () => void) => gzip.write(chunk, () => void nextTurn().then(done)),
    end: (chunk?: string | Buffer) => {
      if (!response.headersSent) response.setHeader('content-encoding', 'gzip');
      if (isEmpty) end();
      else gzip.end(chunk);
      return response;
    },
  });
}
