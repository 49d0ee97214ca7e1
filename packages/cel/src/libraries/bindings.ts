// Names for values inside an expression. Kubernetes' common environment lacks them; expressions about devices have them.
import type { Library } from '../environment/library.ts';
import { bindMacro } from '../syntax/bind-macro.ts';

/** The macro `cel.bind`. */
export const bindingsLibrary: Library = { name: 'cel.lib.ext.cel.bindings', macros: [bindMacro] };
