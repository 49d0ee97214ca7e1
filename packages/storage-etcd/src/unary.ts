// Makes one gRPC call with one answer to one member, as a promise. Used by caller.ts, auth-token.ts,
// server-features.ts.
import type { Client, Metadata, MethodDefinition } from '@grpc/grpc-js';

export interface UnaryCall {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly signal: AbortSignal;
}

/** Makes the call. Rejects with gRPC's ServiceError or with the signal's reason. */
export function unary<Q, R>(method: MethodDefinition<Q, R>, request: Q, call: UnaryCall): Promise<R> {
  const { client, metadata, signal } = call;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const { path, requestSerialize, responseDeserialize } = method;
    const running = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      (error, answer) => {
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
