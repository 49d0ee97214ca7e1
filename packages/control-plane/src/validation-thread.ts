// The thread of a server that validates large objects: what it runs knows the built-in kinds and custom resources. Started by
// resources.ts through LargeObjectValidation.
import { builtinFacts, builtinMaker, definitionMakers, definitionsId, runValidationThread } from '@kapstan/apiserver';

runValidationThread({ builtin: builtinMaker(), ...definitionMakers(() => builtinFacts(definitionsId)) });
