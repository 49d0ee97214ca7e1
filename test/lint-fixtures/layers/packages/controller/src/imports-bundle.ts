import '../../control-plane/src/bundle.ts';
