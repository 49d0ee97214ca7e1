// The suites of calls, retries, watches, deadlines, proxies and rotation once more, over HTTP/2.
import { prepareWire } from '../testing/wire.ts';

await prepareWire({ http2: true, gzip: false });
await import('../testing/wire-suites.ts');
