// The suites of calls, retries, watches, deadlines, proxies and rotation once more, over HTTP/2.
import { prepareWire } from '../testing/wire.ts';

await prepareWire({ http2: true, gzip: false });
await import('../close.test.ts');
await import('../pains.test.ts');
await import('../misuse.test.ts');
await import('../request-metrics.test.ts');
await import('../watch.test.ts');
await import('../client.test.ts');
await import('../discovery.test.ts');
await import('../list.test.ts');
await import('../lister-watcher.test.ts');
await import('../subresources.test.ts');
await import('../metadata-reader.test.ts');
await import('../conformance.test.ts');
await import('../transport/proxy.test.ts');
await import('../transport/socks-tunnel.test.ts');
await import('../transport/connection-pool.test.ts');
await import('../transport/transport.test.ts');
await import('../transport/certificate-rotation.test.ts');
await import('../transport/before-send.test.ts');
await import('../transport/caller-stack.test.ts');
await import('../transport/half-open.test.ts');
await import('../streaming/opening.test.ts');
