// Calls back right before the bytes of a request are sent. That may be long after the request was handed to undici, because its connection
// must open first. It is composed into the dispatchers of connection-pool.ts; attempt-loop.ts decides whether to send.
import type { Dispatcher } from 'undici';

/** request() passes this on, although the type of its options does not include it. */
export interface BeforeSend {
  /** Called right before the request is written. When it throws, nothing is written and the request rejects with that error. */
  readonly beforeSend: () => void;
}

// undici starts a request and writes it in the same turn, once the connection is open: client-h1.js (writeH1).
export const callBeforeSend: Dispatcher.DispatcherComposeInterceptor =
  (dispatch) => (options: Dispatcher.DispatchOptions & Partial<BeforeSend>, handler) => {
    const { beforeSend } = options;
    if (beforeSend === undefined) return dispatch(options, handler);
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (...started) => {
      beforeSend();
      start?.(...started);
    };
    return dispatch(options, handler);
  };
