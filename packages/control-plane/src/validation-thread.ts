// The thread of a server that validates large objects. Its code knows the built-in kinds and custom resources. Started by resources.ts
// through LargeObjectValidation.

import { definitionMakers, definitionsId } from '@kapstan/apiextensions';
import { runValidationThread } from '@kapstan/apiserver';
import { builtinFacts, builtinMaker } from '@kapstan/kubernetes';

runValidationThread({ builtin: builtinMaker(), ...definitionMakers(() => builtinFacts(definitionsId)) });
