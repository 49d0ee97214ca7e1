// Makes one gRPC call with one answer to one member, as a promise. Used by caller.ts, auth-token.ts,
// server-features.ts.
import type { Client, Metadata, MethodDefinition } from '@grpc/grpc-js';
import type { CallSpan } from '@kapstan/storage';
import { TracedCall } from './traced-call.ts';

export interface UnaryCall {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly signal: AbortSignal;
  /** The call becomes a part of it. Absent = it is not traced. */
  readonly span?: CallSpan | undefined;
}

/** Makes the call. Rejects with gRPC's ServiceError or with the signal's reason. */
export function unary<Q, R>(method: MethodDefinition<Q, R>, request: Q, call: UnaryCall): Promise<R> {
  const { client, metadata, signal, span } = call;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const traced = span && new TracedCall(span, method);
    const running = client.makeUnaryRequest(
      method.path,
      traced?.serialize ?? method.requestSerialize,
      traced?.deserialize ?? method.responseDeserialize,
      request,
      traced?.metadata(metadata) ?? metadata,
      (error, answer) => {
        traced?.end(error, running);
        signal.removeEventListener('abort', onAbort);
        if (error !== null) reject(error);
        else resolve(answer as R);
      },
    );
    const onAbort = (): void => {
      reject(signal.reason);
      running.cancel();
    };
    signal.addEventListener('abort', onAbort);
  });
}
