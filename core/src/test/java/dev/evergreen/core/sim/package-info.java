/**
 * The simulation: the main proof of the core (design §4, "What must hold").
 *
 * <p><b>Method.</b> Any number of nodes run in one process, each with the real core, on an engine
 * that is simulated: {@link dev.evergreen.core.sim.SimThreads threads}, {@link
 * dev.evergreen.core.sim.SimClock clocks}, {@link dev.evergreen.core.sim.SimNetwork links}, {@link
 * dev.evergreen.core.sim.SimPlacement placement} and {@link dev.evergreen.core.sim.SimStorage
 * storage}. A {@link dev.evergreen.core.sim.Scheduler} runs one thread at a time and decides every
 * step as its {@link dev.evergreen.core.sim.Policy} says: by random numbers that follow from a
 * seed, or by a schedule; time is virtual. So a seed stands for one run, in every process, and
 * hours of a cluster's life take a tenth of a second.
 *
 * <p>The seed also fixes a {@link dev.evergreen.core.sim.Scenario}: how many nodes and grains there
 * are, the settings, the weather of the network, and what the {@link
 * dev.evergreen.core.sim.Nemesis} may do. A random application runs in it: {@link
 * dev.evergreen.core.sim.Cell cells} that are written, {@link dev.evergreen.core.sim.Formula
 * formulas} that read others as a program in their state says, {@link
 * dev.evergreen.core.sim.Courier couriers} that write others, {@link dev.evergreen.core.sim.Ring
 * rings} that chains of calls come back to, also by parallel branches, {@link
 * dev.evergreen.core.sim.Meter meters} of the outside world. {@link dev.evergreen.core.sim.Watch
 * Computations} over them are tracked in every way that the interface offers. In half of the seeds
 * whoever calls may be interrupted meanwhile ({@link dev.evergreen.core.sim.Callers}). {@link
 * dev.evergreen.core.sim.Run} says what is checked and when; a {@link dev.evergreen.core.sim.Model}
 * without any runtime says what is right.
 *
 * <p><b>Two ways through the orders of events.</b> Random seeds go far: large worlds, long runs,
 * every kind of trouble. The {@link dev.evergreen.core.sim.Explorer} goes everywhere in small ones:
 * it performs each {@link dev.evergreen.core.sim.Scope} (up to three nodes, a few grains, a handful
 * of operations) in every order of steps, with messages that are late or repeated and threads
 * without a processor, up to a number of deviations from the ordinary {@link
 * dev.evergreen.core.sim.Schedule}. In some scopes messages are lost as well, saves fail with and
 * without effect, a node dies, or it is given up and goes on, with the storage's fence or without.
 * What is found is a short list of decisions, which a command replays. Equal states are cut off.
 * What a thread has on its stack is part of a state and cannot be compared, so a state is known by
 * what has led to it, but for the order of steps that nobody can tell ({@link
 * dev.evergreen.core.sim.History}). To add a scope, write a few lines in {@link
 * dev.evergreen.core.sim.Scopes}.
 *
 * <p><b>What is right where reads go in a circle</b> is checked as strictly as elsewhere: all its
 * members fail, and what others yield must follow from that ({@link
 * dev.evergreen.core.sim.Expectation}). Most circles are in the {@link
 * dev.evergreen.core.sim.Storm}: another application in the same world, of nothing but members that
 * read each other, which is quiet several times in a run and judged by the components of its graph
 * ({@link dev.evergreen.core.sim.Mesh}).
 *
 * <p><b>What it cannot see.</b> Threads are interleaved where they park, where the core starts a
 * thread or sends a message, and where the application lets others run; not between any two
 * instructions. Data races are for the soak with real threads.
 *
 * <p><b>That it can fail</b> is shown by {@link dev.evergreen.core.sim.Mutant mutants}: the core,
 * changed in one place of its bytes, must not pass what the core itself passes in every test run,
 * and must fail in the way that the change makes it wrong.
 */
@NullMarked
package dev.evergreen.core.sim;

import org.jspecify.annotations.NullMarked;
