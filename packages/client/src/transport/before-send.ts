// The last word before the bytes of a request go, which may be long after it was handed to undici: its connection has to stand
// first. Composed into the dispatchers of connection-pool.ts; who may refuse is asked by attempt-loop.ts.
import type { Dispatcher } from 'undici';

/** request() hands it down, which the type of the options leaves out. */
export interface BeforeSend {
  /** Called right before the request is written. What it throws, the request rejects with; nothing is written. */
  readonly beforeSend: () => void;
}

// undici starts a request and writes it in one turn, when the connection stands: client-h1.js (writeH1).
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
