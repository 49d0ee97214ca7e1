// Opens watches by the hundred for a benchmark. They only count events in the bytes, so that the client costs little.
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { inParallel } from './http-caller.mjs';

const eventMark = '"type":"MODIFIED"';

/** Counts the marks in the pieces of a stream, including a mark that is cut in two. */
function markCounter(onEvents) {
  let tail = '';
  return (piece) => {
    const text = tail + piece.toString('latin1');
    let count = 0;
    let end = 0;
    for (let at = text.indexOf(eventMark); at >= 0; at = text.indexOf(eventMark, end)) {
      count += 1;
      end = at + eventMark.length;
    }
    tail = text.slice(Math.max(end, text.length - eventMark.length + 1));
    onEvents(count);
  };
}

/** Opens a watch on its own connection. */
function openHttp1({ url, token, ca }, path, onEvents) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
    const head = `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\n\r\n`;
    const count = markCounter(onEvents);
    socket.on('secureConnect', () => socket.write(head));
    socket.on('error', reject);
    socket.on('data', (piece) => {
      count(piece);
      resolve(socket);
    });
  });
}

/** Opens a watch on a shared connection. */
function openHttp2(session, { token }, path, onEvents) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, authorization: `Bearer ${token}`, accept: 'application/json' });
    stream.on('error', reject);
    stream.on('response', ({ ':status': status }) => {
      if (status === 200) resolve();
      else reject(new Error(`GET ${path}: status ${status}`));
    });
    stream.on('data', markCounter(onEvents));
  });
}

/** Opens a connection for 100 watches. Its window is the same as in Go's client: 4 MiB per stream, 1 GiB in all. */
function openSession({ url, ca }) {
  const session = connectHttp2(url, { ca, settings: { enablePush: false, initialWindowSize: 4_194_304 } });
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    session.once('remoteSettings', () => {
      session.setLocalWindowSize(1_073_741_824);
      resolve(session);
    });
  });
}

const watchesPerSession = 100;

/**
 * Opens `count` watches over 'h1' (a connection each) or 'h2' (100 on one). Resolves to a function that ends them all.
 */
export async function openWatches(server, { path, count, protocol, onEvents }) {
  const open = [];
  if (protocol === 'h1') {
    await inParallel(count, 32, async () => open.push(await openHttp1(server, path, onEvents)));
  } else {
    for (let left = count; left > 0; left -= watchesPerSession) {
      const session = await openSession(server);
      open.push(session);
      await inParallel(Math.min(left, watchesPerSession), 32, () => openHttp2(session, server, path, onEvents));
    }
  }
  return () => {
    for (const one of open) one.destroy();
  };
}
