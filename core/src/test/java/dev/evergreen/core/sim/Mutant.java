package dev.evergreen.core.sim;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One way to break the core: a change to one of its classes, made while it is loaded. So the core
 * itself has no switch to break it.
 */
sealed interface Mutant {

  /**
   * The class's name below {@code dev.evergreen.core}: {@code engine.} is before those of the core,
   * {@code model.} and {@code work.} before those of what it is built on, and {@code sim.} before
   * those of the simulation, on which the core relies, too. {@code $} is before the name of a
   * nested class.
   */
  String type();

  /**
   * A method leaves out its calls of another, whose result, if any, is then null, zero or false.
   */
  record LeavesOut(String type, String method, String call) implements OfMethod {
    @Override
    public String toString() {
      return type + "." + method + " leaves out " + call;
    }
  }

  /** A method does nothing but return null, zero, false or nothing. */
  record DoesNothing(String type, String method) implements OfMethod {
    @Override
    public String toString() {
      return type + "." + method + " does nothing";
    }
  }

  /** A method does nothing but return true. */
  record SaysYes(String type, String method) implements OfMethod {
    @Override
    public String toString() {
      return type + "." + method + " says yes";
    }
  }

  /** Some lines of a class are other lines; {@code before} must occur once. */
  record Says(String type, String before, String after) implements Mutant {

    @Override
    public Map<String, byte[]> apply(byte[] original) {
      return Sources.changed(MutantLoader.OURS + type, before, after);
    }

    @Override
    public String toString() {
      return type + " says '" + after + "' instead of '" + before + "'";
    }
  }

  /**
   * The classes that are changed, by their names.
   *
   * @param original the class that the mutant names
   * @throws IllegalStateException if there is nothing to change: the core was changed since
   */
  Map<String, byte[]> apply(byte[] original);

  /** A change of a method's code. */
  sealed interface OfMethod extends Mutant {

    String method();

    @Override
    default Map<String, byte[]> apply(byte[] original) {
      return Map.of(MutantLoader.OURS + type(), changed(original));
    }

    private byte[] changed(byte[] original) {
      var places = new AtomicInteger();
      var file = ClassFile.of(ClassFile.DebugElementsOption.DROP_DEBUG);
      var changed =
          file.transformClass(
              file.parse(original),
              ClassTransform.transformingMethods(
                  method -> isMeant(method.methodName().stringValue()) && method.code().isPresent(),
                  change(places)));
      if (places.get() == 0) {
        throw new IllegalStateException("'" + this + "' finds nothing to change in the core");
      }
      return changed;
    }

    /** Whether a method is the one that is meant, or one of its lambdas. */
    private boolean isMeant(String name) {
      return name.equals(method())
          || (this instanceof LeavesOut && name.startsWith("lambda$" + method() + "$"));
    }

    private MethodTransform change(AtomicInteger places) {
      return switch (this) {
        case LeavesOut(var type, var method, var call) ->
            MethodTransform.transformingCode(leaveOut(call, places));
        case DoesNothing nothing -> constant(0, places);
        case SaysYes yes -> constant(1, places);
      };
    }

    private static CodeTransform leaveOut(String call, AtomicInteger places) {
      return (CodeBuilder code, CodeElement element) -> {
        if (element instanceof InvokeInstruction invoke && invoke.name().equalsString(call)) {
          places.incrementAndGet();
          drop(invoke, code);
        } else {
          code.with(element);
        }
      };
    }

    /** Takes the arguments from the stack and puts a result there, instead of the call. */
    private static void drop(InvokeInstruction invoke, CodeBuilder code) {
      var signature = invoke.typeSymbol();
      for (int i = signature.parameterCount() - 1; i >= 0; i--) {
        pop(TypeKind.from(signature.parameterType(i)), code);
      }
      if (invoke.opcode() != Opcode.INVOKESTATIC) {
        code.pop();
      }
      push(signature.returnType(), 0, code);
    }

    private static void pop(TypeKind kind, CodeBuilder code) {
      if (kind.slotSize() == 2) {
        code.pop2();
      } else {
        code.pop();
      }
    }

    private static MethodTransform constant(int value, AtomicInteger places) {
      return (builder, element) -> {
        if (element instanceof CodeModel code) {
          places.incrementAndGet();
          var returned = returnType(code);
          builder.withCode(
              instead -> {
                push(returned, value, instead);
                instead.return_(TypeKind.from(returned));
              });
        } else {
          builder.with(element);
        }
      };
    }

    private static ClassDesc returnType(CodeModel code) {
      return code.parent().map(MethodModel::methodTypeSymbol).orElseThrow().returnType();
    }

    private static void push(ClassDesc type, int value, CodeBuilder code) {
      switch (TypeKind.from(type)) {
        case VOID -> {}
        case LONG -> code.loadConstant((long) value);
        case FLOAT -> code.loadConstant((float) value);
        case DOUBLE -> code.loadConstant((double) value);
        case REFERENCE -> code.aconst_null();
        default -> code.loadConstant(value);
      }
    }
  }
}
