// Requests of a malicious client, bounded in number and size. Each attack creates its own objects; the server may
// refuse any of its requests. Used by memory.mjs.
import { inParallel } from './http-caller.mjs';
import { openUnreadWatches } from './unread-watches.mjs';

const namespace = '/api/v1/namespaces/default';
const items = (count, item) => Array.from({ length: count }, (_, index) => item(index));
const members = (count, key, value) => Object.fromEntries(items(count, (index) => [key(index), value]));

/** Sends a request whose refusal is accepted as an answer. */
const tried = (call, method, path, body) => call(method, path, JSON.stringify(body)).catch(() => undefined);

async function largeObjects({ call }) {
  await inParallel(60, 4, async (index) => {
    const metadata = { name: `large-${index}` };
    await tried(call, 'POST', `${namespace}/configmaps`, { metadata, data: { text: 'x'.repeat(900_000) } });
    await tried(call, 'PUT', `${namespace}/configmaps/large-${index}`, {
      metadata,
      data: { text: 'y'.repeat(900_000) },
    });
  });
  for (let n = 0; n < 5; n++) await call('GET', `${namespace}/configmaps`);
}

async function manyMembers({ call }) {
  const pod = (name, spec, labels = {}) => ({
    metadata: { name, labels },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const env = items(50_000, (index) => ({ name: `E${index}`, value: 'x' }));
  for (let n = 0; n < 3; n++) {
    await tried(call, 'POST', `${namespace}/pods`, pod(`env-${n}`, { containers: [{ name: 'c', image: 'i', env }] }));
    const volumes = items(20_000, (index) => ({ name: `v${index}`, emptyDir: {} }));
    await tried(call, 'POST', `${namespace}/pods`, pod(`volumes-${n}`, { volumes }));
    await tried(
      call,
      'POST',
      `${namespace}/pods`,
      pod(
        `labels-${n}`,
        {},
        members(20_000, (index) => `-bad${index}`, '-'),
      ),
    );
    const finalizers = items(20_000, (index) => `bad finalizer ${index}`);
    await tried(call, 'POST', `${namespace}/configmaps`, { metadata: { name: `f-${n}`, finalizers } });
    const hard = members(400, (index) => `requests.example.com/r${index}`, '1e99999');
    await tried(call, 'POST', `${namespace}/resourcequotas`, { metadata: { name: `q-${n}` }, spec: { hard } });
  }
}

async function managers({ call }) {
  const path = `${namespace}/configmaps`;
  await call('POST', path, JSON.stringify({ metadata: { name: 'managed' }, data: {} }));
  const data = {};
  for (let n = 0; n < 200; n++) {
    data[`k${n}`] = 'v';
    await call('PUT', `${path}/managed?fieldManager=m${n}`, JSON.stringify({ metadata: { name: 'managed' }, data }));
  }
}

async function unreadWatches({ call, server }) {
  const body = (index) => JSON.stringify({ metadata: { name: `w-${index}` }, data: { text: 'x'.repeat(1_000) } });
  await inParallel(3_000, 16, (index) => call('POST', `${namespace}/configmaps`, body(index)));
  const close = await openUnreadWatches(server, `${namespace}/configmaps?watch=1`, 300);
  await inParallel(600, 8, (index) => call('PUT', `${namespace}/configmaps/w-${index}`, body(index)));
  return close;
}

/** The attacks by name. Each may return a function that closes its open connections. */
export const attacks = {
  'objects of 0.9 MB, changed and listed': largeObjects,
  'objects of many members, valid and not': manyMembers,
  'an object of 200 managers': managers,
  '300 watches that nobody reads': unreadWatches,
};

/** Deletes everything that the attacks created. */
export async function deleteAll({ call }) {
  for (const resource of ['configmaps', 'pods', 'resourcequotas'])
    await call('DELETE', `${namespace}/${resource}`, JSON.stringify({ gracePeriodSeconds: 0 }));
}
