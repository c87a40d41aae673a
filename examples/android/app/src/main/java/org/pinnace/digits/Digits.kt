package org.pinnace.digits

import ai.onnxruntime.OnnxTensor
import ai.onnxruntime.OrtEnvironment
import ai.onnxruntime.OrtSession
import java.nio.FloatBuffer

/** Which digit, and how sure: 0 to 1. */
data class Guess(val digit: Int, val score: Float)

/**
 * The exported model. The names, sizes and dtypes below are those of the file
 * (`pinnace export … --report report.md` lists them).
 */
class Digits(model: ByteArray) : AutoCloseable {
    private val environment = OrtEnvironment.getEnvironment()
    private val session: OrtSession

    init {
        session = OrtSession.SessionOptions().use { options ->
            options.setIntraOpNumThreads(THREADS)
            environment.createSession(model, options)
        }
        require(INPUT in session.inputNames && OUTPUT in session.outputNames) {
            "the file takes ${session.inputNames} and gives ${session.outputNames}"
        }
    }

    /** The digit in an image of [SIDE] rows of [SIDE] values from 0 to [WHITE]. */
    fun guess(image: FloatArray): Guess {
        require(image.size == SIDE * SIDE) { "wanted ${SIDE * SIDE} values, got ${image.size}" }
        val shape = longArrayOf(1, SIDE.toLong(), SIDE.toLong(), CHANNELS.toLong())
        OnnxTensor.createTensor(environment, FloatBuffer.wrap(image), shape).use { tensor ->
            session.run(mapOf(INPUT to tensor), setOf(OUTPUT)).use { results ->
                val buffer = (results[OUTPUT].get() as OnnxTensor).floatBuffer
                val scores = FloatArray(CLASSES).also { buffer.get(it) }
                val best = scores.indices.maxBy { scores[it] }
                return Guess(best, scores[best])
            }
        }
    }

    override fun close() = session.close()

    companion object {
        const val INPUT = "image"
        const val OUTPUT = "output_0"
        const val SIDE = 8
        const val CHANNELS = 1
        const val CLASSES = 10
        const val WHITE = 16f
        private const val THREADS = 1 // so small a model is slower on two

        /**
         * Means of squares of a drawing: what the model was trained on.
         *
         * @param pixels brightness from 0 to 255, row by row
         * @param side pixels in a row, a multiple of [SIDE]
         */
        fun image(pixels: IntArray, side: Int): FloatArray {
            require(side % SIDE == 0 && pixels.size == side * side) { "$side is no multiple of $SIDE" }
            val step = side / SIDE
            val sums = FloatArray(SIDE * SIDE)
            for (y in 0 until side) {
                for (x in 0 until side) {
                    sums[y / step * SIDE + x / step] += pixels[y * side + x] / 255f
                }
            }
            return FloatArray(sums.size) { sums[it] / (step * step) * WHITE }
        }
    }
}
