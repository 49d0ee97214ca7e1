// Turns a commit into etcd's transaction, and its answer into a commit's result. Used by etcd-engine.ts.
import type { Revision } from '@kapstan/api';
import type { Commit, CommitResult } from '@kapstan/storage';
import { compareMod, type RequestOp, type TxnRequest, type TxnResponse, type WireKeyValue } from './wire.ts';
import { keyBytes, toKeyValue } from './wire-key.ts';

export function toTxn({ key: name, expectedRevision, change }: Commit): TxnRequest {
  const key = keyBytes(name);
  const write: RequestOp =
    change.type === 'put'
      ? { requestPut: { key, value: change.value, lease: change.lease ?? 0, prevKv: expectedRevision !== 0 } }
      : { requestDeleteRange: { key, prevKv: true } };
  return {
    compare: [{ target: compareMod, key, modRevision: expectedRevision }],
    success: [write],
    failure: [{ requestRange: { key } }],
  };
}

export function toCommitResult({ succeeded, header, responses }: TxnResponse): CommitResult {
  const revision = header.revision as Revision;
  const [answer] = responses;
  if (!succeeded) {
    const kv = answer?.responseRange?.kvs[0];
    return kv === undefined ? { succeeded, revision } : { succeeded, revision, current: toKeyValue(kv) };
  }
  const previous: WireKeyValue | null | undefined =
    answer?.responsePut?.prevKv ?? answer?.responseDeleteRange?.prevKvs[0];
  return previous ? { succeeded, revision, previous: toKeyValue(previous) } : { succeeded, revision };
}
